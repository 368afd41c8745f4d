// Package ci holds what puts moult preview on pull requests, for others to copy; its tests run the scripts.
package ci
