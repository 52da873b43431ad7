"""Other libraries' models behind a bounded set of pending decisions; one module each, imported by name.

``tarry.adapters.river``, ``sklearn``, ``torch`` and ``vw`` each need their own package only.
"""
