# The real control plane for tests and the demo: kube-apiserver and etcd, built once per machine into the user's cache
# folder. Their versions are pinned in test/tools/controlplane/go.mod, and those of older kube-apiservers, which
# MOULT_KUBERNETES=1.34 asks for, in test/tools/kubernetes. KUBEBUILDER_ASSETS, when set, is used as it is.
GO ?= go

.PHONY: control-plane clean-control-plane
control-plane: ## build kube-apiserver and etcd unless they are there (minutes, once)
	@GOFLAGS=-mod=readonly GOWORK=off GOOS= GOARCH= $(GO) run ./test/controlplane/build

clean-control-plane: ## remove the built or fetched kube-apiserver and etcd from the cache folder
	@GOFLAGS=-mod=readonly GOWORK=off GOOS= GOARCH= $(GO) run ./test/controlplane/build -clean
