package rewrite

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/controllers/rewrite/throttle"
)

// Each of some CRDs may have a webhook that hangs, and its walk holds room meanwhile.
func TestSlowWalksLeaveRoomForAnother(t *testing.T) {
	for _, slow := range []int{1, 6, 20} {
		t.Run(fmt.Sprint(slow), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, room, pace := NewWithT(t), NewRoom(), throttle.New(throttle.Options{MaxInFlight: 32})
				ctx, cancel := context.WithCancel(t.Context())
				var walks sync.WaitGroup
				walk := func(objects int, takes time.Duration) {
					s := newShelf(objects)
					s.takes = func(string) time.Duration { return takes }
					_, _ = (&Walk{Objects: s, Room: room, Lane: pace.Lane()}).Run(ctx)
				}
				for range slow {
					walks.Go(func() { walk(300, 7*time.Second) })
				}
				time.Sleep(15 * time.Second)
				began := time.Now()
				walk(400, 5*time.Millisecond)
				g.Expect(time.Since(began)).To(BeNumerically("<", 30*time.Second))
				cancel()
				walks.Wait()
			})
		})
	}
}

func TestAShareLeavesRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, room := NewWithT(t), newShares(90)
		claim := func(of *share, n int, each int64) int64 {
			for range n {
				go func() { _ = of.acquire(t.Context(), each) }()
			}
			synctest.Wait()
			return of.held
		}
		one, two, large, last := room.share(), room.share(), room.share(), room.share()
		g.Expect(claim(one, 100, 1)).To(BeEquivalentTo(30), "alone")
		g.Expect(claim(two, 100, 1)).To(BeEquivalentTo(20), "beside another")
		g.Expect(claim(large, 1, 50)).To(BeZero(), "what does not fit waits")
		one.release(10)
		synctest.Wait()
		g.Expect(large.held).To(BeEquivalentTo(50), "before those that hold something")
		g.Expect(one.held).To(BeEquivalentTo(20))
		g.Expect(room.free).To(BeZero())
		two.release(10)
		g.Expect(claim(last, 5, 5)).To(BeEquivalentTo(5), "the first claim, and no more while little is free")
	})
}

func TestWhoWaitsForAShareCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, room := NewWithT(t), newShares(10)
		one, two := room.share(), room.share()
		g.Expect(one.acquire(t.Context(), 8)).To(Succeed())
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- two.acquire(ctx, 5) }()
		synctest.Wait()
		cancel()
		g.Expect(<-stopped).To(MatchError(context.Canceled))
		one.release(8)
		g.Expect(one.acquire(t.Context(), 10)).To(Succeed(), "all is given back")
	})
}
