package supportbundle

import (
	"context"
	"maps"

	"kanon.dev/kanon/redact/clustersecrets"
)

// noteSecrets reads the values of all Secrets, or of those that may be read. It keeps no Secret.
func (c *collector) noteSecrets(ctx context.Context) {
	values, err := clustersecrets.Values(ctx, c.Client, c.Namespace)
	maps.Copy(c.values, values)
	c.lacks("values of Secrets, to hide them", err)
	c.checked = err == nil
}
