package conversion

import (
	"context"
	"math"
)

type roomKey struct{}

// withRoom is for requests whose answers may take so many bytes of memory, all together.
func withRoom(ctx context.Context, bytes int64) context.Context {
	return context.WithValue(ctx, roomKey{}, &bytes)
}

// left is what they may take yet.
func left(ctx context.Context) *int64 {
	if bytes, bounded := ctx.Value(roomKey{}).(*int64); bounded {
		return bytes
	}
	return new(int64(math.MaxInt64))
}

// Room is how many bytes of memory an answer may take: a Converter's error is a Failure with FaultTooLarge before it holds more.
func Room(ctx context.Context) int64 { return max(*left(ctx), 0) }
