// Package change is being written.
package change
