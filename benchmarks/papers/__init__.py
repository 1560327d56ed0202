"""Every figure of the three papers: panels as data, measured, judged and reported."""
