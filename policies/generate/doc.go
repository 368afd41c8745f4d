// Package generate makes objects that one version of a CRD takes, at random, and makes them smaller.
//
// What the schema says is followed as far as it says how: types, enums, patterns, limits, formats, keys of lists, and
// one branch of each anyOf and oneOf. The rest, CEL rules above all, is a filter. What the API server's own validation
// refuses is made anew or left out, and an object that stays invalid is thrown away. Each object is about one field of
// the schema, in turn, so that all of a large schema are seen.
package generate
