// Package health is the health of a VersionRemoval or a CustomResourceDefinition, as delivery tools ask for it. Healthy
// lets the next sync wave go, Progressing holds it back, Degraded ends the sync until somebody commits something. It is
// the reference for two other spellings of the same rules. These are the scripts in the folder lua, which Argo CD runs,
// and the CEL expressions in flux.go, which Flux evaluates. To change a rule, change all three and the fixtures beside
// the scripts (lua/<group>/<Kind>/health_test.yaml); test/lua puts every fixture to all of them, and to kstatus, and
// they must agree.
//
// The functions take an object's content as it comes from JSON or YAML and are total. They answer for any content, also
// if it is missing or has the wrong type. In doubt they answer Progressing, so that a gate never opens by mistake.
package health
