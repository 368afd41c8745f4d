package throttle

import "slices"

// grant hands out the free slots. The caller holds the lock, as for all that
// follows.
func (p *Pace) grant() {
	for p.underWay < p.most && p.underWay-p.hanging < int(p.limit.n) {
		next := p.next()
		if next == nil {
			return
		}
		turn := next.waiting[0]
		next.waiting = next.waiting[1:]
		p.drop(next)
		if len(next.waiting) > 0 {
			p.lanes = append(p.lanes, next) // behind those that wait as long
		}
		next.underWay++
		p.underWay++
		close(turn)
	}
}

// next is the lane with the fewest requests under way, and of those the one that
// has waited longest; nil if none may have more.
func (p *Pace) next() *Lane {
	var next *Lane
	for _, l := range p.lanes {
		if l.hanging < max(1, p.most/mayHang) && (next == nil || l.underWay < next.underWay) {
			next = l
		}
	}
	return next
}

// leave gives a slot back.
func (l *Lane) leave() {
	l.underWay--
	l.pace.underWay--
	l.pace.grant()
}

// giveUp stops waiting. It returns false if the turn has come.
func (l *Lane) giveUp(turn chan struct{}) bool {
	i := slices.Index(l.waiting, turn)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	if len(l.waiting) == 0 {
		l.pace.drop(l)
	}
	return true
}

// drop takes a lane off the list of those that wait.
func (p *Pace) drop(l *Lane) {
	if i := slices.Index(p.lanes, l); i >= 0 {
		p.lanes = slices.Delete(p.lanes, i, i+1)
	}
}
