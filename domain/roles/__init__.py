"""What language models are asked, what they may answer, and what that may cost. Advice, never authority."""
