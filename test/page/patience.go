package page

import "time"

// patience is how long a busy machine may take for anything.
const patience = 2 * time.Minute
