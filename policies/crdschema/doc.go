// Package crdschema knows what becomes of the fields of an object that is stored at another version where nothing
// converts it (spec.conversion.strategy None). The API server changes the apiVersion, and drops what the schema of the
// other version does not know. It is pure, and asks the API server's own code for pruning and defaults. Begin at Of.
package crdschema
