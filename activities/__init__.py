"""What workflows have done in the world: one class a concern, its ports through the constructor. They know no adapter."""
