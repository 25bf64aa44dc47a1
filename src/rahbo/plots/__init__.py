"""Pictures: functions that compute a small record, and functions that draw one on given axes."""
