"""Terminal, HTML, Markdown and JSON: four views of one record."""
