package controlplane

import (
	"io"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Option changes how Start runs the control plane.
type Option func(*options)

type options struct {
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

// configure sets the flags that all servers of one control plane share. The issuer is fixed because envtest's default
// contains the port, and then no server would accept a service account token of another.
func (o options) configure(server *envtest.APIServer) {
	server.Configure().Set("service-account-issuer", "https://kubernetes.default.svc")
	for flag, values := range o.flags {
		server.Configure().Set(flag, values...)
	}
}

// Flag gives every API server a flag, named without dashes, in place of envtest's default for it.
func Flag(name string, values ...string) Option {
	return func(o *options) { o.flags[name] = values }
}

// Output sends the logs of etcd and of the first API server to w; otherwise they are seen only when a start fails.
func Output(w io.Writer) Option {
	return func(o *options) { o.output = w }
}
