package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/builtin"
	"kanon.dev/kanon/rules"
)

// knownKinds are the kinds that rules are checked against: those of Kubernetes
// itself or of a cluster, and those that definitions in files add. It is a
// rules.Kinds and a rules.KindLister.
type knownKinds struct {
	table *builtin.Table
	// cluster is nil where no cluster is asked.
	cluster *restmapping.Mapper
}

func builtinKinds() (*knownKinds, error) {
	table, err := builtin.Load()
	return &knownKinds{table: table}, err
}

// clusterKinds asks a cluster once for all of its kinds.
func clusterKinds(ctx context.Context, config *rest.Config) (*knownKinds, error) {
	mapper, err := restmapping.New(restmapping.Options{Config: config})
	if err != nil {
		return nil, err
	}
	// Every cluster has it; what matters is that a lookup learns all the others.
	if _, err := mapper.Kind(ctx, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}); err != nil {
		return nil, fmt.Errorf("ask %s for its kinds: %w", config.Host, err)
	}
	return &knownKinds{table: &builtin.Table{}, cluster: mapper}, nil
}

// define adds the kinds of definitions. One that defines none adds none: what
// it lacks is a finding, or for the API server to say.
func (k *knownKinds) define(crds []*unstructured.Unstructured) {
	for _, crd := range crds {
		_ = k.table.Define(crd)
	}
}

// Lookup implements rules.Kinds.
func (k *knownKinds) Lookup(gvk schema.GroupVersionKind) (rules.Kind, bool) {
	kind, ok := k.table.Lookup(gvk)
	if !ok && k.cluster != nil {
		kind, ok = k.cluster.Lookup(gvk)
	}
	return rules.Kind{Namespaced: kind.Namespaced, HasStatus: kind.HasStatus, Verbs: kind.Verbs}, ok
}

// Known implements rules.KindLister.
func (k *knownKinds) Known() []schema.GroupVersionKind {
	all := k.table.Kinds()
	if k.cluster != nil {
		all = append(all, k.cluster.Kinds()...)
	}
	known := make([]schema.GroupVersionKind, len(all))
	for i, kind := range all {
		known[i] = kind.GVK
	}
	return known
}

// Complete implements rules.KindLister. Without a cluster only the groups of
// Kubernetes itself are known whole, and the kinds whose definition was given.
func (k *knownKinds) Complete(kind schema.GroupKind) bool {
	if k.cluster != nil || k.ofKubernetes(kind.Group) {
		return true
	}
	for _, known := range k.table.Kinds() {
		if known.GVK.GroupKind() == kind {
			return true
		}
	}
	return false
}

// ofKubernetes says whether a group is one of Kubernetes' own, in this version or
// in another: the group of a CustomResourceDefinition has a dot.
func (k *knownKinds) ofKubernetes(group string) bool {
	return k.table.HasGroup(group) || !strings.Contains(group, ".")
}

// Place implements rules.KindLister.
func (k *knownKinds) Place(group string) string {
	switch {
	case k.cluster != nil:
		return "the cluster"
	case k.ofKubernetes(group):
		return "Kubernetes " + k.table.Version()
	default:
		return "the CustomResourceDefinition"
	}
}
