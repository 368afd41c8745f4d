// Package conversion reports what becomes of an object when it is stored at another version of its CRD, and read at its
// own again. It uses the API server's own code (k8s.io/apiextensions-apiserver) to convert, prune, default and
// validate, with no server.
//
// New makes an Engine of a CRD, With gives it the way to a webhook (clusters/converters), and Rehearse asks it about one object;
// Report sums up many. What only a webhook knows is unknown without the way to it, and never taken for nothing.
package conversion
