"""Reports of results: pytest's own reports, the terminal, Allure."""
