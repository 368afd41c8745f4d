// Package operators holds `moult test conversion` to the conversions of real operators, as their own modules have them: what it finds
// is in docs/conversion.md.
package operators
