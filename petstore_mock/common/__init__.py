"""What any room may need: text that is close to another, paths, masked keys, dates.

Plain values come in and plain values go out. Nothing here knows the interface or HTTP.
"""
