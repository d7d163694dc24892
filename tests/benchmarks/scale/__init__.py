"""How far it goes: very many rows, pages and builders."""
