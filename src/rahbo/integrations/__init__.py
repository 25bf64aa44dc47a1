"""Adapters to other libraries. Each is an optional extra that nothing else imports."""
