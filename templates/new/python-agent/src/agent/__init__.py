"""An agent that calls tools."""
