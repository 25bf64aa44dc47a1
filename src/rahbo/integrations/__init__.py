"""Adapters to other libraries, each an extra that nothing else imports."""
