"""Small complete projects to begin with, each a folder of files beside this one; they are copied, and never imported."""
