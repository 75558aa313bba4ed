def all_pages() -> dict[str, str]:
    return {}
