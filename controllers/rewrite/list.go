package rewrite

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// list sends all objects on, a page at a time.
func (w *Walk) list(ctx context.Context, pages chan<- *page) error {
	l := &lister{Walk: w, pages: newReader(newPageSize(w.PageSize), w.newBackoff)}
	l.pages.again = func() { l.seen, l.last = 0, place{} }
	for {
		page, err := l.page(ctx)
		if err != nil {
			return err
		}
		if err := w.unchanged(ctx); err != nil {
			return err
		}
		w.collector.listed(l.total(page), page.ResourceVersion)
		w.breaker.listed(keysOf(page))
		next, strays := page.Continue, l.strays(page.Items)
		select {
		case pages <- w.keep(page, strays):
		case <-ctx.Done():
			return ctx.Err()
		}
		if l.pages.token = next; next == "" {
			return nil
		}
		if w.YieldSlot != nil {
			if err := w.YieldSlot(ctx); err != nil {
				return err
			}
		}
	}
}

// deal hands out the objects of the pages one by one.
func deal(ctx context.Context, pages <-chan *page, items chan<- listed) error {
	for p := range pages {
		for i := range p.items {
			select {
			case items <- listed{&p.items[i], p.sizes[i], p, p.strays[i]}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// lister asks for one page of metadata after the other.
type lister struct {
	*Walk
	pages *reader
	seen  int64
	last  place
}

// page is the next page, for which the walk holds room.
func (l *lister) page(ctx context.Context) (page *metav1.PartialObjectMetadataList, err error) {
	err = l.pages.next(ctx, func(opts metav1.ListOptions) error {
		if err := l.held.take(ctx, readingRoom); err != nil {
			return err
		}
		if page, err = l.atAnyVersion(ctx, opts); err != nil {
			l.held.give(readingRoom)
		}
		return err
	})
	if err == nil {
		l.pages.size.came(int64(len(page.Items)), int64(page.Size()))
	}
	return page, err
}

// reader asks for one page after the other until it comes.
type reader struct {
	token      string // where to go on
	size       pageSize
	newBackoff func() *backoff
	backoff    *backoff
	again      func() // called when the list starts anew
}

func newReader(size pageSize, newBackoff func() *backoff) *reader {
	return &reader{size: size, newBackoff: newBackoff, backoff: newBackoff()}
}

// next asks for the next page. An expired list goes on from the token in the error. A page that is too large, or spoilt
// at all versions, is asked for anew as a smaller one. A list that cannot be served is asked for again later.
func (r *reader) next(ctx context.Context, ask func(metav1.ListOptions) error) error {
	for {
		err := ask(metav1.ListOptions{Limit: r.size.next, Continue: r.token})
		if err == nil {
			r.backoff = r.newBackoff()
			return nil
		}
		if err := r.goOn(ctx, err); err != nil {
			return err
		}
	}
}

// goOn decides what to ask for after an error, and when.
func (r *reader) goOn(ctx context.Context, err error) error {
	token, expired := continueToken(err)
	switch {
	case expired:
		if r.token = token; token == "" {
			r.again()
		}
		return r.backoff.waitAnyhow(ctx, err)
	case errors.Is(err, ErrPageTooLarge), spoilt(err) && r.size.next > 1:
		r.size.shrink()
		return ctx.Err()
	case tookTooLong(err):
		r.size.slow()
		return r.backoff.wait(ctx, err)
	default:
		return r.backoff.wait(ctx, err)
	}
}

// tookTooLong reports whether a list failed that may succeed with fewer objects, which
// the API server may have to convert one by one.
func tookTooLong(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || utilnet.IsTimeout(err)
}

// atAnyVersion lists at another version if one object that cannot be converted
// spoils the list at the storage version: the API server answers all or nothing.
func (l *lister) atAnyVersion(ctx context.Context, opts metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	page, err := l.Objects.List(ctx, opts)
	for _, other := range l.Otherwise {
		if !spoilt(err) {
			break
		}
		page, err = other.List(ctx, opts)
	}
	return page, err
}

// total is how many objects there are as far as is known.
func (l *lister) total(page *metav1.PartialObjectMetadataList) int64 {
	l.seen += int64(len(page.Items))
	if page.RemainingItemCount == nil {
		return l.seen
	}
	return l.seen + *page.RemainingItemCount
}

// spoilt reports whether a list failed because of an object in it.
func spoilt(err error) bool {
	if err == nil {
		return false
	}
	c, _ := classify(err)
	return c == unconverted
}
