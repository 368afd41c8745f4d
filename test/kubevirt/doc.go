// Package kubevirt holds what Moult does with KubeVirt's stashed copies to KubeVirt's own types and conversions.
package kubevirt
