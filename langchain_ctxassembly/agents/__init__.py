"""Agents and graphs: what tools and nodes found, assembled together and kept in a checkpoint."""
