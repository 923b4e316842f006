#!/bin/sh
# A job of Slurm with a rank on each of four machines: sbatch slurm_job.sh ./app
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --time=00:10:00
# srun does not take the number of CPUs from the lines above. Without it a rank has one.
exec srun --mpi=pmix --kill-on-bad-exit --cpus-per-task="$SLURM_CPUS_PER_TASK" "$@"
