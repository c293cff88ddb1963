// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A pool of the chain's own coin. What is unstaked waits before it is paid out.
contract StakingPool {
    struct Withdrawal {
        uint256 amount;
        uint256 blockNumber;
    }

    uint256 public constant DELAY = 100;

    mapping(address => uint256) private staked;
    mapping(address => Withdrawal[]) private waiting;

    error NotStaked(uint256 asked, uint256 staked);
    error NothingDue();
    error NotPaid();

    function stake() external payable {
        staked[msg.sender] += msg.value;
    }

    function unstake(uint256 amount) external {
        uint256 has = staked[msg.sender];
        if (amount > has) revert NotStaked(amount, has);
        staked[msg.sender] = has - amount;
        waiting[msg.sender].push(Withdrawal(amount, block.number));
    }

    /// Pays out what has waited for DELAY blocks.
    function withdraw() external {
        Withdrawal[] storage list = waiting[msg.sender];
        uint256 due;
        for (uint256 i = list.length; i > 0; i--) {
            Withdrawal memory w = list[i - 1];
            if (w.blockNumber + DELAY > block.number) continue;
            due += w.amount;
            list[i - 1] = list[list.length - 1];
            list.pop();
        }
        if (due == 0) revert NothingDue();
        (bool paid, ) = msg.sender.call{value: due}("");
        if (!paid) revert NotPaid();
    }

    function currentStake(address wallet) external view returns (uint256) {
        return staked[wallet];
    }

    function pendingWithdrawals(address wallet) external view returns (Withdrawal[] memory) {
        return waiting[wallet];
    }
}
