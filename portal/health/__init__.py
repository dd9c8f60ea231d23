"""Is this process alive, and can it do its work?"""
