"""Where rows come from and how they are folded: the features and targets of the notes' equation."""
