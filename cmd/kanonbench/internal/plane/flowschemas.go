package plane

import (
	"context"
	"fmt"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

// schemaPrefix is the prefix of the FlowSchemas' names. A verb and a resource follow.
const schemaPrefix = "kanonbench-"

// Precedences of FlowSchemas. Single resources precede all others, and both precede the API server's own FlowSchemas
// for ServiceAccounts.
const (
	precedenceOne  = 100
	precedenceRest = 200
)

// The resource names of counts for several resources.
const (
	OtherResources = "other"       // resources that are not counted separately
	NonResources   = "no-resource" // paths such as /openapi/v3
)

func verbs() []string {
	return []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
}

// Parents and ParentsStatus are the resource names of counts for all parent kinds.
const (
	Parents       = "apps"
	ParentsStatus = "apps/status"
)

func resources() []string {
	return []string{Parents, ParentsStatus, "configmaps", "services", "deployments", "events"}
}

// members lists the resources that are counted together.
func members(resource string) []string {
	base, subresource, isStatus := strings.Cut(resource, "/")
	if base != Parents {
		return []string{resource}
	}
	all := make([]string, app.MaxKinds)
	for i := range all {
		all[i] = app.Kind(i).Resource()
		if isStatus {
			all[i] += "/" + subresource
		}
	}
	return all
}

// makeFlowSchemas makes a FlowSchema for each verb and resource of the engine.
func (p *Plane) makeFlowSchemas(ctx context.Context) error {
	for _, verb := range verbs() {
		for _, resource := range resources() {
			err := p.makeFlowSchema(ctx, verb, resource, precedenceOne, ofResources(verb, members(resource)))
			if err != nil {
				return err
			}
		}
		if err := p.makeFlowSchema(ctx, verb, OtherResources, precedenceRest, ofResources(verb, []string{"*"})); err != nil {
			return err
		}
	}
	rules := flowcontrolv1.PolicyRulesWithSubjects{
		NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}},
	}
	return p.makeFlowSchema(ctx, "get", NonResources, precedenceRest, rules)
}

func ofResources(verb string, resources []string) flowcontrolv1.PolicyRulesWithSubjects {
	return flowcontrolv1.PolicyRulesWithSubjects{ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
		Verbs: []string{verb}, APIGroups: []string{"*"}, Resources: resources,
		ClusterScope: true, Namespaces: []string{"*"},
	}}}
}

func (p *Plane) makeFlowSchema(ctx context.Context, verb, resource string, precedence int32,
	rules flowcontrolv1.PolicyRulesWithSubjects,
) error {
	rules.Subjects = []flowcontrolv1.Subject{{
		Kind:           flowcontrolv1.SubjectKindServiceAccount,
		ServiceAccount: &flowcontrolv1.ServiceAccountSubject{Namespace: engineNamespace, Name: engineAccount},
	}}
	schema := &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: schemaName(verb, resource)},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "exempt"},
			MatchingPrecedence:         precedence,
			Rules:                      []flowcontrolv1.PolicyRulesWithSubjects{rules},
		},
	}
	if _, err := p.core.FlowcontrolV1().FlowSchemas().Create(ctx, schema, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create FlowSchema: %w", err)
	}
	return nil
}

// schemaName is the name of the FlowSchema for a verb and a resource. Names must not contain a slash.
func schemaName(verb, resource string) string {
	return schemaPrefix + verb + "-" + strings.ReplaceAll(resource, "/", ".")
}

// countOf is the kind of request that a FlowSchema counts.
func countOf(schema string) (Request, bool) {
	rest, ours := strings.CutPrefix(schema, schemaPrefix)
	verb, resource, both := strings.Cut(rest, "-")
	return Request{Verb: verb, Resource: strings.ReplaceAll(resource, ".", "/")}, ours && both
}
