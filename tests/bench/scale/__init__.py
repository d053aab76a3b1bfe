"""What a query costs as the table grows: rows by the million, in a PostgreSQL."""
