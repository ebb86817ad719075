"""What must survive: the only room that speaks SQL, its committer and its numbered migrations."""
