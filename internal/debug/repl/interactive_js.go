package repl

import "context"

// interactive reads plain lines: there is no terminal whose lines could be edited.
func (r *REPL) interactive(ctx context.Context) error { return r.script(ctx, r.cfg.In, false) }
