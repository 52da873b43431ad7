"""Figures of a report: one idea a file, each from tidy frames to charts with a paragraph of explanation."""
