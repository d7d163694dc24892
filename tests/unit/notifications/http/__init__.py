"""Tests of the HTTP that engines are spoken to with."""
