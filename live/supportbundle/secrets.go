package supportbundle

import (
	"context"
	"maps"

	"kanon.dev/kanon/redact/clustersecrets"
)

// noteSecrets takes in the values of all Secrets, of the whole cluster or of as much as may be read. It keeps no Secret.
func (c *collector) noteSecrets(ctx context.Context) {
	values, err := clustersecrets.Values(ctx, c.Client, c.Namespace)
	maps.Copy(c.values, values)
	c.lacks("values of Secrets, to hide them", err)
	c.checked = err == nil
}
