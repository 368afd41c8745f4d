package controlplane

import (
	"io"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Option changes how Start runs the control plane.
type Option func(*options)

type options struct {
	own    bool
	flags  map[string][]string
	output io.Writer
}

func newOptions(opts []Option) options {
	o := options{flags: map[string][]string{}}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// with are the same options and more.
func (o options) with(more []Option) options {
	o.flags = maps.Clone(o.flags)
	for _, opt := range more {
		opt(&o)
	}
	return o
}

// configure sets the flags that all servers of one control plane share. The issuer is fixed because envtest's default
// contains the port, and then no server would accept a service account token of another.
func (o options) configure(server *envtest.APIServer) {
	server.Configure().Set("service-account-issuer", "https://kubernetes.default.svc")
	for flag, values := range o.flags {
		server.Configure().Set(flag, values...)
	}
}

// Own makes Run start a control plane for this package, also where a shared one is running. The reason says why the
// package cannot share: its tests stop a server, look at the whole cluster, or change what all tests would notice.
func Own(reason string) Option {
	return func(o *options) { o.own = reason != "" }
}

// Flag gives every API server a flag, named without dashes, in place of envtest's default for it. A package with flags of
// its own has a control plane of its own.
func Flag(name string, values ...string) Option {
	return func(o *options) { o.own, o.flags[name] = true, values }
}

// Output sends the logs of etcd and of the first API server to w; otherwise they are seen only when a start fails.
func Output(w io.Writer) Option {
	return func(o *options) { o.output = w }
}
