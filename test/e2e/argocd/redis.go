package argocd

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/moult-dev/moult/test/e2e/process"
)

// redis is an in-process stand-in for Redis.
type redis struct {
	server *miniredis.Miniredis
	stop   chan struct{}
	clock  sync.WaitGroup
}

// startRedis also moves miniredis' clock on, which stands still by itself: a cached commit would stay the newest one
// until a refresh is asked for, and automatic sync would see no commit at all.
func startRedis() (*redis, error) {
	r := &redis{server: miniredis.NewMiniRedis(), stop: make(chan struct{})}
	if err := r.server.StartAddr(process.Loopback(0)); err != nil {
		return nil, fmt.Errorf("start the stand-in for Redis: %w", err)
	}
	r.clock.Go(func() {
		const second = time.Second
		for tick := time.NewTicker(second); ; {
			select {
			case <-tick.C:
				r.server.FastForward(second)
			case <-r.stop:
				tick.Stop()
				return
			}
		}
	})
	return r, nil
}

// close ends the server; once only. It does nothing for nil.
func (r *redis) close() {
	if r == nil {
		return
	}
	close(r.stop)
	r.clock.Wait()
	r.server.Close()
}
