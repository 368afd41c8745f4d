package progress

import (
	"fmt"
	"time"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// Counts are the objects of a walk; their JSON form is part of the commands' interface.
type Counts struct {
	Done   int64 `json:"done"`
	Total  int64 `json:"total"`
	Failed int64 `json:"failed"`
	// Rate is in objects per second; 0 while it is unknown.
	Rate float64 `json:"rate,omitempty"`
	// ETASeconds is how long the walk will still take at this rate; 0 while it is unknown.
	ETASeconds float64 `json:"etaSeconds,omitempty"`
}

// Of are the counts of a condition, with how long the walk will still take.
func Of(p v1alpha1.Progress) *Counts {
	told := &Counts{Done: p.Done, Total: p.Total, Failed: p.Failed, Rate: p.Rate}
	if p.Rate > 0 && p.Done < p.Total {
		told.ETASeconds = float64(p.Total-p.Done) / p.Rate
	}
	return told
}

// Ended is the same count once nothing is under way any more.
func (c *Counts) Ended() *Counts {
	if c == nil {
		return nil
	}
	return &Counts{Done: c.Done, Total: c.Total, Failed: c.Failed}
}

// Cells are the columns DONE/TOTAL, RATE and ETA of a table.
func (c *Counts) Cells() (counts, rate, eta string) {
	counts, rate, eta = "-", "-", "-"
	if c == nil {
		return
	}
	counts = fmt.Sprintf("%d/%d", c.Done, c.Total)
	if c.Failed > 0 {
		counts += fmt.Sprintf(", %d failed", c.Failed)
	}
	if c.Rate > 0 {
		rate = fmt.Sprintf("%.0f/s", c.Rate)
	}
	if c.ETASeconds > 0 {
		eta = c.eta().String()
	}
	return counts, rate, eta
}

func (c *Counts) eta() time.Duration {
	return time.Duration(c.ETASeconds * float64(time.Second)).Round(time.Second)
}
