#!/bin/bash
# One part of a run on each task of a Slurm array, then the thresholds over all of them:
#
#   JOB=$(sbatch --parsable --array=1-8 examples/shards/slurm.sh)
#   sbatch --dependency=afterany:$JOB --export=ALL,MERGE=1 examples/shards/slurm.sh
#
# Keys are in the environment of the nodes, not here. RUNS is a folder that all nodes see.
#SBATCH --job-name=webarena
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --time=08:00:00
#SBATCH --requeue
set -eu

RUNS=${RUNS:-$PWD/webarena-runs/slurm}
AGENT=${AGENT:-agents/mine.yaml}

if [ "${MERGE:-}" = 1 ]; then # after all parts, also such as failed
    webarena runs merge "$RUNS"/part-* -o "$RUNS/whole"
    exec webarena runs gate "$RUNS/whole" --min-pass-rate="${MIN_PASS_RATE:-0.3}" --max-errors="${MAX_ERRORS:-0}"
fi

first=${SLURM_ARRAY_TASK_MIN:-1}
part=$((SLURM_ARRAY_TASK_ID - first + 1))
run=$RUNS/part-$part
code=0
if [ -e "$run/run.json" ]; then # the job was requeued: what is missing, and errors once more
    pytest --resume="$run" --concurrency="${WIDE:-auto}" || code=$?
else
    pytest tasks --agent="$AGENT" --concurrency="${WIDE:-auto}" --shard="$part/$SLURM_ARRAY_TASK_COUNT" --run-dir="$run" ||
        code=$?
fi
# 1: trials failed, 5: no task fell to this part. Whether that is too many is decided over all parts.
[ "$code" = 1 ] || [ "$code" = 5 ] || exit "$code"
