"""What the engine offers an adapter for another framework."""
