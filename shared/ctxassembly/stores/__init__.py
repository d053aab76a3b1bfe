"""Stores: where I/O lives that both adapters need. The engine never imports this package."""
