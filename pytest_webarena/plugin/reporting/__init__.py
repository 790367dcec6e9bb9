"""How results reach people: pytest's own reports, the terminal, Allure."""
