"""Which of millions of Boolean expressions are true for an event?"""
