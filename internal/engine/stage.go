package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"towpath/internal/durable"
	"towpath/internal/journal"
	"towpath/internal/prompt"
	"towpath/internal/tool"
	"towpath/internal/workspace"
)

// stageRun is one run of one stage, from its first event to its last.
type stageRun struct {
	e      *Engine
	st     *workspace.Stage
	s      *standing // when it began
	chosen Chosen
	basis  basis
	first  *prompt.Context // of the whole stage or its first item
	fresh  bool            // nothing of earlier runs is used

	run       *journal.Run
	root      string        // the first run of the chain of resumes
	resumes   string        // the run that this one goes on from
	past      *journal.Past // what the chain knows; nil with nothing to resume
	old       []oldItem     // items of earlier runs
	items     []workspace.Item
	targets   []target
	replaces  map[string][]string // workspace path -> hashes that may be overwritten
	rejection *prompt.Rejection
	sentBack  map[string]string // title of an item -> its piece of what was rejected
	tools     tool.Scope
	budget    *budget
}

// runStage makes a stage's outputs and opens its gate. stop says that the run
// ends there.
func (d *drive) runStage(ctx context.Context, s *standing, i int) (exited journal.Exited, stop bool, err error) {
	r, err := d.prepare(s)
	if err != nil {
		return journal.Exited{}, true, err
	}
	r.run, err = d.e.create(s.st)
	if err != nil {
		return journal.Exited{}, true, err
	}
	exited, stop, err = d.inRun(ctx, r, i)
	if err != nil {
		ee := classify(ctx, r.name(err))
		exited, stop, err = ee.exited(s.st.Name), true, ee
	}
	if aerr := r.run.Append(journal.Event{Type: journal.Exit, Exit: &exited}); err == nil && aerr != nil {
		err = aerr
	}
	if cerr := r.run.Close(); err == nil && cerr != nil {
		err = cerr
	}
	return exited, stop, err
}

// name puts the stage's name before an error, where the error does not say
// itself what to do about it.
func (r *stageRun) name(err error) error {
	var ours *Error
	var unknown *tool.UnknownCallError
	switch {
	case errors.As(err, &unknown):
		return unanswered(r.st, []journal.Call{{Server: unknown.Spec.Server, Tool: unknown.Spec.Name}})
	case errors.As(err, &ours):
		return err
	}
	return fmt.Errorf("%s: %w", r.st.Name, err)
}

func (e *Engine) create(st *workspace.Stage) (*journal.Run, error) {
	return journal.Create(e.cfg.Tree, e.cfg.Dir, st.Name, journal.Options{
		Clock: e.now, Secrets: e.cfg.Secrets, Observe: e.observe,
	})
}

// prepare finds out everything that can be known before the first event: what
// the stage reads, what it may overwrite, what it goes on from.
func (d *drive) prepare(s *standing) (*stageRun, error) {
	r := &stageRun{e: d.e, st: s.st, s: s, chosen: d.chosen[s.st.Name], fresh: d.opt.Again != ""}
	if err := d.upstream(s.st); err != nil {
		return nil, err
	}
	if err := r.expand(); err != nil {
		return nil, err
	}
	if err := r.recallRejection(); err != nil {
		return nil, err
	}
	if err := r.firstContext(); err != nil {
		return nil, err
	}
	if err := r.goOn(); err != nil {
		return nil, err
	}
	if err := r.mayReplace(d.opt.Again != "" || d.opt.Stale && s.done); err != nil {
		return nil, err
	}
	limit, err := parseStop(s.st)
	if err != nil {
		return nil, usage("", "%s: %v", d.e.show(s.st.Contract.Path), err)
	}
	slots := 1
	if f := s.st.Contract.ForEach; f != nil {
		slots = max(f.AtATime, 1)
	}
	r.budget = newBudget(d.e.cfg.Limits, limit, slots, d.e.now())
	r.budget.most = d.e.cfg.Most
	return r, nil
}

// upstream refuses a stage that reads what has yet to be approved.
func (d *drive) upstream(st *workspace.Stage) error {
	for _, m := range d.e.makers(st) {
		if m.Contract.Gate != workspace.GateApprove {
			continue
		}
		s, err := d.stand(m)
		if err != nil {
			return err
		}
		if s.done && !s.approved {
			return &Error{Code: CodePerson, How: HowGate, Mend: "towpath approve " + m.Name,
				Err: fmt.Errorf("%s reads the output of %s, which waits for approval", st.Name, m.Name)}
		}
	}
	return nil
}

// expand finds the items and the files to be made.
func (r *stageRun) expand() error {
	if r.st.Contract.ForEach != nil {
		list, err := r.e.cfg.Workspace.Items(r.e.fsys, r.st)
		if err != nil {
			return &Error{Code: CodeUsage, How: HowRefused, Err: err}
		}
		r.items = list.Items
	}
	var err error
	r.targets, err = r.e.targetsOf(r.st, r.items, true)
	return err
}

// firstContext builds what the model will be sent first, so that what cannot
// be sent is found before anything is spent or written, and notes what the
// stage is made from.
func (r *stageRun) firstContext() error {
	opt := r.e.promptOptions()
	opt.Rejection = r.rejection
	if len(r.items) > 0 {
		opt.Item, opt.Total = &r.items[0], len(r.items)
		opt.Rejection = r.rejectionFor(r.items[0])
	}
	var err error
	if r.first, err = r.context(opt); err != nil {
		return err
	}
	specs, _ := r.e.granted(r.st)
	if err := r.e.fits(r.st, r.first, toolTokens(specs), replyTokens(r.chosen), r.chosen.Info); err != nil {
		return err
	}
	r.basis = basis{contract: durable.Hash(r.st.Contract.Source), files: r.first.Files}
	return nil
}

// goOn sets what is known from an interrupted run, if its inputs are still the
// same, and the finished items of runs that failed.
func (r *stageRun) goOn() error {
	rec := r.s.past
	if resumable(rec) && !r.fresh && r.basis.equal(rec.Started.Contract, rec.Started.Inputs) {
		if len(rec.Unknown) > 0 {
			return unanswered(r.st, rec.Unknown)
		}
		var err error
		if r.past, err = journal.NewPast(r.e.history(), rec.Chain...); err != nil {
			return err
		}
		r.root, r.resumes = rec.Chain[0], rec.Run
		r.old, err = r.e.finished(r.st, rec.Chain)
		return err
	}
	if r.fresh || r.s.done || r.st.Contract.ForEach == nil {
		return nil
	}
	var err error
	r.old, err = r.e.finished(r.st, nil)
	return err
}

// unanswered is the end of a run that cannot go on before a person said what
// became of a call.
func unanswered(st *workspace.Stage, calls []journal.Call) *Error {
	var names []string
	for _, c := range calls {
		names = append(names, c.Server+" "+c.Tool)
	}
	return &Error{Code: CodePerson, How: HowUnknownCall,
		Err:  fmt.Errorf("%s: a call with effects was started and nothing says whether it was done: %s", st.Name, strings.Join(names, ", ")),
		Mend: "look, then say so with towpath answer " + st.Name + " done|repeat|skip"}
}

// mayReplace notes what may be overwritten: what the model itself wrote, and
// with replace whatever is there now. A thing that is no regular file is
// refused before anything is spent.
func (r *stageRun) mayReplace(replace bool) error {
	r.replaces = map[string][]string{}
	may := func(show, hash string) { r.replaces[show] = append(r.replaces[show], hash) }
	for _, f := range r.s.files {
		if f.why != "" && f.why != whyMissing && f.why != whyEmpty {
			return failed("move it away, then run the same command again", "output %s of %s %s", f.show, r.st.Name, f.why)
		}
		if f.there && (replace || r.e.isOurs(r.s.past, f)) {
			may(f.show, f.hash)
		}
	}
	if p := r.s.past; p.Run != "" && p.Exited == nil {
		for show, hash := range p.Started.Replaces {
			may(show, hash)
		}
	}
	return nil
}

// inRun is what happens between the first event of a run and its last.
func (d *drive) inRun(ctx context.Context, r *stageRun, i int) (journal.Exited, bool, error) {
	if r.root == "" {
		r.root = r.run.Name()
	}
	if err := r.begin(); err != nil {
		return journal.Exited{}, true, err
	}
	closeTools, err := r.openTools(ctx)
	if err != nil {
		return journal.Exited{}, true, err
	}
	made, err := stageWork(ctx, r)
	if cerr := closeTools(); err == nil && cerr != nil {
		d.e.warn(r.st, "a tool server did not end cleanly: %v", cerr)
	}
	if err != nil {
		return journal.Exited{}, true, err
	}
	if err := ctx.Err(); err != nil {
		return journal.Exited{}, true, err
	}
	left, err := r.write(made)
	if err != nil {
		return journal.Exited{}, true, err
	}
	var outputs []string
	for _, t := range r.targets {
		outputs = append(outputs, t.show)
	}
	exited, stop := d.halt(r.s, i, outputs, odd(made, left))
	return exited, stop, r.run.Append(gateEvent(r.st, outputs))
}

func gateEvent(st *workspace.Stage, outputs []string) journal.Event {
	return journal.Event{Type: journal.Gate, Gate: &journal.GateOpened{Kind: string(st.Contract.Gate), Outputs: outputs}}
}

// odd says why a person has to look at a result even where gates are passed.
func odd(p product, left []string) string {
	var why []string
	if p.cut != "" {
		why = append(why, "the result is incomplete: "+p.cut)
	}
	return strings.Join(append(why, left...), "; ")
}

// begin writes the first event and keeps what will be replaced.
func (r *stageRun) begin() error {
	started := &journal.Started{
		Towpath: r.e.cfg.Version, Contract: r.basis.contract, Inputs: r.basis.files,
		Model: r.chosen.Info.ID, Resumes: r.resumes, Attended: r.e.cfg.Attended,
	}
	for _, t := range r.targets {
		started.Outputs = append(started.Outputs, t.show)
	}
	for _, f := range r.s.files {
		if r.s.done && slices.Contains(r.replaces[f.show], f.hash) {
			if started.Replaces == nil {
				started.Replaces = map[string]string{}
			}
			started.Replaces[f.show] = f.hash
		}
	}
	if err := r.run.Append(journal.Event{Type: journal.RunStarted, Started: started}); err != nil {
		return err
	}
	if r.chosen.Info.Window == 0 {
		r.e.warn(r.st, "nobody states the window of %s; the prompt of about %d tokens is sent as it is", r.chosen.Info.ID, r.first.Tokens)
	}
	for _, f := range r.s.files {
		if _, ok := started.Replaces[f.show]; ok {
			if _, err := r.run.Keep("before/"+keptName(f.show), f.data); err != nil {
				return err
			}
		}
	}
	return nil
}

// openTools starts the servers that the contract names and opens its tools,
// each call journaled. The function that it gives closes the servers.
func (r *stageRun) openTools(ctx context.Context) (func() error, error) {
	grants := r.st.Contract.Tools
	if len(grants) == 0 {
		return func() error { return nil }, nil
	}
	servers, err := r.e.cfg.Servers.Open(ctx, r.st, serverNames(grants))
	closeAll := func() error {
		var errs []error
		for _, s := range slices.Backward(servers) {
			if err := s.Close(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.Name(), err))
			}
		}
		return errors.Join(errs...)
	}
	if err == nil {
		r.tools, err = tool.Open(ctx, grants, servers)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the tools of %s: %w", r.st.Name, err), closeAll())
	}
	for i := range r.tools.Offers {
		r.tools.Offers[i].Tool = tool.Journaled(r.tools.Offers[i].Tool, r.root)
	}
	for _, w := range r.tools.Warnings {
		r.e.warn(r.st, "%s", w)
	}
	return closeAll, nil
}

// write puts the results in place, once all of them were accepted. A file that
// appeared or changed since the stage began is left as it is; left says which,
// and where the model's version is.
func (r *stageRun) write(p product) (left []string, err error) {
	type result struct {
		target
		data []byte
		kept string
	}
	var results []result
	for i, t := range r.targets {
		data, err := accept(t.show, r.run.Scrub(p.texts[i]))
		if err != nil {
			return nil, err
		}
		results = append(results, result{target: t, data: data})
	}
	for i := range results {
		res := &results[i]
		if res.kept, err = r.run.Keep(keptName(res.show), res.data); err != nil {
			return nil, err
		}
	}
	for _, res := range results {
		hash := durable.Hash(res.data)
		now, err := r.e.look(res.target)
		if err != nil {
			return nil, err
		}
		if why := r.inTheWay(now, hash); why != "" {
			left = append(left, fmt.Sprintf("%s %s and was left as it is; the model's version is %s", res.show, why, res.kept))
			continue
		}
		var folders []string
		if now.hash != hash || !now.there {
			if folders, err = r.e.cfg.Tree.Put(res.path, res.data); err != nil {
				return nil, fmt.Errorf("writing output %s: %w", res.show, err)
			}
		}
		err = r.run.AppendWith(journal.Event{Type: journal.OutputWritten, Output: &journal.Output{
			Path: res.show, Hash: hash, Bytes: len(res.data), Incomplete: p.cut != "", Kept: res.kept,
		}}, folders...)
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// inTheWay says why what is at an output's place now must not be overwritten.
func (r *stageRun) inTheWay(now found, hash string) string {
	switch {
	case !now.there && (now.why == whyMissing || now.why == whyEmpty):
		return ""
	case !now.there:
		return now.why
	case now.hash == hash, slices.Contains(r.replaces[now.show], now.hash):
		return ""
	}
	for _, f := range r.s.files {
		if f.show == now.show && f.hash == now.hash {
			return "was made or edited by a person before the stage ran"
		}
	}
	return "was written by someone else while the stage ran"
}

// reopen closes the books of a run that died after it wrote its outputs: the
// gate is shown as it would have been.
func (d *drive) reopen(s *standing, i int) (exited journal.Exited, stop bool, err error) {
	run, err := d.e.create(s.st)
	if err != nil {
		return journal.Exited{}, true, err
	}
	defer func() {
		if cerr := run.Close(); err == nil && cerr != nil {
			err = cerr
		}
	}()
	started := *s.past.Started
	started.Resumes, started.Replaces = s.past.Run, nil
	if err := run.Append(journal.Event{Type: journal.RunStarted, Started: &started}); err != nil {
		return journal.Exited{}, true, err
	}
	cut := ""
	for _, f := range s.files {
		out := s.past.Outputs[f.show]
		if out.Incomplete {
			cut = "the result is incomplete"
		}
		if err := run.Append(journal.Event{Type: journal.OutputWritten, Output: &out}); err != nil {
			return journal.Exited{}, true, err
		}
	}
	exited, stop = d.halt(s, i, s.paths(), cut)
	if err := run.Append(gateEvent(s.st, s.paths())); err != nil {
		return journal.Exited{}, true, err
	}
	return exited, stop, run.Append(journal.Event{Type: journal.Exit, Exit: &exited})
}
