"""What ships for trying the product out without GitHub or a real agent."""
