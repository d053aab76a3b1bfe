"""Reading an answer: what it cites, what it quotes, how it is spoken."""
