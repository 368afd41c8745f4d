// Package rollout is being written.
package rollout
